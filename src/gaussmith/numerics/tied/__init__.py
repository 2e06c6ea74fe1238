"""Noise for several questions at once: what one person adds to each of them, the lift that ties them, its largest norm.

parts.py      what one person can add to each question
lift.py       the lift: one small matrix per question, and one that ties the questions' sums
types.py      how many groups hold each corner: what is listed of a part instead of all people
states.py     how many groups a person gains, loses and keeps
clusters.py   which rows of a lift see which columns
units.py      a lift in units that cannot overflow
largest.py    the largest norm of a lifted person: the number on which privacy rests

ladder.py     the least noise for a whole request: `solve`
reduced.py    a part as far as its best noise is concerned
worst_law.py  the law on people under which a request needs the most noise
exact.py      parts solved together by types
centred.py    parts in closed form around a centre
uniform.py    a part with the same noise in every group, around a centre
weighted.py   groups of one question that weigh differently, in closed form
blocks.py     parts solved apart, joined by one shared constant
replaced.py   replace-one: every part by itself
signs.py      worst laws written out as laws on whole people
"""
