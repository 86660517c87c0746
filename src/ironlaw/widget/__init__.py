"""The one widget: its JavaScript and CSS, the Figure it draws, the dials it turns, and the Piece that ties them to Python.

A lab page, the report and /explore show the same pieces. Nothing is imported here: the report needs the scripts alone, without anywidget.
"""
