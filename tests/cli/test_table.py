"""Columns for people and for awk: numbers to the right, nothing empty, nothing at the ends of lines."""

from headrace.cli.table import print_table


def test_columns_are_as_wide_as_what_is_in_them(capsys):
    print_table(["TOPIC", "LAG"], [["clicks-of-today", 7], ["t", 12_345]])
    assert capsys.readouterr().out == ("TOPIC              LAG\nclicks-of-today      7\nt                12345\n")


def test_an_empty_field_is_a_dash_and_does_not_make_a_column_of_numbers_one_of_words(capsys):
    print_table(["GROUP", "LAG", "HOST"], [["g", None, ""], ["h", -1, "h1"], ["i", 0, None]])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["GROUP", "LAG", "HOST"],
        ["g", "-", "-"],
        ["h", "-1", "h1"],
        ["i", "0", "-"],
    ]
    assert [line.index(field) for line, field in zip(lines[1:], ("-", "1", "0"), strict=True)] == [9, 9, 9]


def test_without_rows_the_heads_stand_alone(capsys):
    print_table(["GROUP", "STATE"], [])
    assert capsys.readouterr().out == "GROUP  STATE\n"
