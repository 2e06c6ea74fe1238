"""Noise for several questions at once: what one person adds to each of them, the lift that ties them, its largest norm.

parts.py      what one person can add to each question
lift.py       the lift: one small matrix per question, and one that ties the questions' sums
types.py      how many groups hold each corner: what is listed of a part instead of all people
clusters.py   which rows of a lift see which columns
largest.py    the largest norm of a lifted person: the number on which privacy rests
law.py        laws on types, which prove lower bounds
"""
