"""The course: labs, their handouts' roles and directives, tools for notebooks."""

from tennis.course.labs import Course, Lab, LabError, Question, load_course, load_lab

__all__ = ["Course", "Lab", "LabError", "Question", "load_course", "load_lab"]
