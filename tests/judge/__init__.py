"""The judge: its protocol, its reading of answers, and what attacks on it come to."""
