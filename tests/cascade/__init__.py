"""Tests of what happens where rules are silent."""
