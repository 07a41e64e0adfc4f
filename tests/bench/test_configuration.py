"""A kernel's configuration is read by kbuild's rules: what its own program says of odd files."""

import pytest

from tennis.bench.configuration import read_config
from tennis.kit.checkout import cache_folder
from tests.support.processes import run_to_end

KCONFIG = """config MODULES
	def_bool y
	modules
config A
	bool "a"
config B
	tristate "b"
config S
	string "s"
config H
	hex "h"
"""
ODD = {
    "set, then not": "CONFIG_A=y\n# CONFIG_A is not set\n",
    "not set, then set": "# CONFIG_A is not set\nCONFIG_A=y\n",
    "a comment behind": "CONFIG_A=y # because\n",
    "a space before": " CONFIG_A=y\n",
    "lines of Windows": 'CONFIG_A=y\r\nCONFIG_B=m\r\nCONFIG_S="s"\r\n',
    "a word": "CONFIG_A=yes\nCONFIG_B=module\n",
    "no": "CONFIG_A=n\nCONFIG_B=n\n",
    "quotes in a string": 'CONFIG_S="a \\"b\\" # c" d\n',
    "a string twice": 'CONFIG_S="x"\nCONFIG_S="y=z"\n',
    "no last line's end": "CONFIG_B=m",
    "comments that are none": "#CONFIG_A=y\n# CONFIG_A=y\n",
    "a backslash": 'CONFIG_S="a\\\\b"\n',
    "a string that is a letter": 'CONFIG_S="n"\n',
    "a form feed": 'CONFIG_S="a\x0cCONFIG_A=y"\n',
    "hexadecimal": "CONFIG_H=0X1f\n",
}


@pytest.mark.virtual
@pytest.mark.parametrize("name", ODD)
def test_an_odd_file_says_what_kbuild_says(tmp_path, name):
    conf = next(cache_folder().glob("kernels/rt-*/headers/usr/lib/*/scripts/kconfig/conf"))
    (tmp_path / "Kconfig").write_text(KCONFIG)
    (tmp_path / ".config").write_bytes(ODD[name].encode())
    run_to_end([conf, "--olddefconfig", "Kconfig"], cwd=tmp_path, check=True)
    usual = {"CONFIG_MODULES": "y", "CONFIG_S": "", "CONFIG_H": "0x0"}
    written = (tmp_path / ".config").read_bytes().decode()
    assert usual | read_config(ODD[name]) == read_config(written)
