"""What is run in the trainers' own environment; each module speaks to its test in lines of JSON."""
