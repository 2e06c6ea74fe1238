"""Noise for several questions at once: what one person adds to each of them, the lift that ties them, its largest norm.

parts.py      what one person can add to each question
lift.py       the lift: one small matrix per question, and one that ties the questions' sums
largest.py    the largest norm of a lifted person: the number on which privacy rests
"""
