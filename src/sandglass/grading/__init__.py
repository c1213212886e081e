"""Grading: what a teacher's GRADE.yaml asks of a student's submission, and the points for it."""
