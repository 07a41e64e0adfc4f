"""The plugins' arguments, and what one of them finds out about QEMU by experiment."""

import subprocess
from typing import get_args

import pytest

from tennis.bench.qemu import plugins
from tests.support.processes import run_to_end

REFUSED = {
    "nonsense=1": "there is none of this name",
    "ou=1": "there is none of this name",  # the first letters of one
    "outer=1": "there is none of this name",
    "{known}=": "no whole number",
    "{known}=7x": "no whole number",
    "{known}=0x10": "no whole number",
    "{known}=99999999999999999999": "no whole number of 64 bits",
    "{known}=1,{known}=2": "it came before",
}
KNOWN = {
    "instrument": "fd",
    "link": "places",
    "profile": "out",
    "guest": "out",
    "memory": "line_bytes",
}


@pytest.mark.parametrize("plugin", get_args(plugins.Plugin))
def test_a_plugin_refuses_a_word_that_it_does_not_know(plugin):
    """A word that is taken for nothing leaves a default in place, and the rally looks right."""
    qemu = plugins.find_qemu()
    library = plugins.build(qemu, plugin)
    for words, why in REFUSED.items():
        asked = f"{library},{words.format(known=KNOWN[plugin])}"
        ended = run_to_end(
            [qemu.path, "-M", "none", "-display", "none", "-plugin", asked],
            stdin=subprocess.DEVNULL,
            timeout=60,
        )
        assert ended.returncode == 1, words
        last = words.format(known=KNOWN[plugin]).split(",")[-1]
        assert f"{plugin}: parameter {last}: {why}" in ended.stderr


# a machine of two vCPUs, and what a kick does to one of them
VCPUS = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kicks.h"

static uint8_t vcpus[2][4096], before[2][4096];
static int calls;

_Noreturn void fail(const char *message)
{
	puts(message);
	exit(3);
}

void cpu_exit(void *cpu)
{
	uint8_t *vcpu = cpu;

	calls++;
	KICK
}

int main(void)
{
	void *cpus[] = { vcpus[0], vcpus[1] };

	memset(vcpus, 7, sizeof(vcpus));
	vcpus[0][300] = vcpus[1][300] = 0;
	BEFORE
	for (int i = 0; i < 1000; i++)
		kicks_learn(cpus, 2);
	vcpus[0][300] = vcpus[1][300] = 1;
	memcpy(before, vcpus, sizeof(vcpus));
	kicks_take_back(cpus, 2);
	before[0][300] = before[1][300] = 0;
	printf("%d, %s", calls, memcmp(before, vcpus, sizeof(vcpus)) ? "wrong" : "taken back");
	return 0;
}
"""
UNKNOWN = "the vCPUs of this QEMU are not known: it plays with one processor only"
KICKS = {  # what is there before, what a kick does, what is said
    "one byte": ("", "vcpu[300] = 1;", "1, taken back"),
    "kicked before": ("vcpus[0][300] = 1;", "vcpu[300] = 1;", "2, taken back"),
    "another thread writes, too": (
        "",
        "if (calls < 7) vcpu[40] ^= 1; else vcpu[300] = 1;",
        "7, taken back",
    ),
    "nothing": ("", "(void)vcpu;", UNKNOWN),
    "two bytes": ("", "vcpu[300] = 1; vcpu[301] ^= 1;", UNKNOWN),
    "no flag": ("", "vcpu[300] += 2;", UNKNOWN),
    "beyond what is looked at": ("", "vcpu[2048] ^= 1;", UNKNOWN),
}


@pytest.mark.parametrize("kick", KICKS)
def test_the_byte_that_says_a_vcpu_was_kicked(tmp_path, kick):
    """A wrong byte would be written into each vCPU at each turn: what is not clear is no answer."""
    before, body, said = KICKS[kick]
    source, program = tmp_path / "vcpus.c", tmp_path / "vcpus"
    source.write_text(VCPUS.replace("BEFORE", before).replace("KICK", body))
    subprocess.run(
        ["gcc", "-Wall", f"-I{plugins.FOLDER}", "-o", program, source, plugins.FOLDER / "kicks.c"],
        check=True,
    )
    ended = subprocess.run([program], capture_output=True, text=True, check=False, timeout=20)
    assert (ended.returncode, ended.stdout.strip()) == (3 if said == UNKNOWN else 0, said)
