"""What a sample of a trainer was worth: an episode's step, a whole episode, or an answer on its
own."""
