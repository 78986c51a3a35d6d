"""Files of rows: JSON Lines, JSON, CSV, TSV, Parquet, and Hugging Face datasets in a folder."""

from aletheia.tabular.base import Format, Row, Scan, Table
from aletheia.tabular.opening import open_handle, open_table
from aletheia.tabular.reading import read_rows
from aletheia.tabular.writing import output_format, replacing, write_rows

__all__ = [
    "Format",
    "Row",
    "Scan",
    "Table",
    "open_handle",
    "open_table",
    "output_format",
    "read_rows",
    "replacing",
    "write_rows",
]
