"""What happens where rules are silent: questions are taken from the queue, put to the stages, and
answered once."""
