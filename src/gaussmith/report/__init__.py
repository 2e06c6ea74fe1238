"""What people read: messages and tables for a terminal and a notebook, charts, and pages. Nothing here can reach data
or noise.

tables     tables and notes as text and as HTML, numbers as they are printed
plans      a plan in words and tables
releases   a release, its contrasts and views in tables
keys       groups that are found in the data, in words
charts     what to draw; `drawing` makes SVG of it that follows the dark mode of a page
page       one self-contained page of a release, without JavaScript
reviewers  what a reviewer asks of a release, and an entry for a registry of deployments
folder     the record, the tables and the page in a directory
"""
