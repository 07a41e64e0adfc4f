# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The few registers that MicroPython has no names for: the same on RP2040 and RP2350, or said."""

import sys

from machine import mem32

# a desktop's Python, where tests read this file, has no machine
IS_RP2040 = "RP2040" in getattr(sys.implementation, "_machine", "")

PIO0 = 0x50200000
PIO1 = 0x50300000
_CTRL = 0x00
_FDEBUG = 0x08
_INPUT_SYNC_BYPASS = 0x38
_DMA = 0x50000000
_DMA_CHANNEL_BYTES = 0x40
_TRANSFER_COUNT = 0x08
_READ_ADDRESS_TRIGGER = 0x3C
# atomic access: write here what to set or clear
_SET = 0x2000
_CLEAR = 0x3000
_WATCHDOG = 0x40058000 if IS_RP2040 else 0x400D8000
_WATCHDOG_ENABLE = 1 << 30
_VREG = 0x40064000  # RP2040 only
_VREG_SELECT = 0xF0
_VREG_STABLE = 1 << 12
# what the regulator calls the core's voltages; mV
_VREG_LEVELS = {1100: 0xB0, 1150: 0xC0, 1200: 0xD0, 1250: 0xE0, 1300: 0xF0}
# of PIO 0; those of PIO 1 are 8 higher
_REQUEST_TX = 0
_REQUEST_RX = 4
_REQUESTS_A_PIO = 8
_SIO = 0xD0000000
_GPIO_IN = 0x004
_GPIO_OE_CLEAR = 0x028 if IS_RP2040 else 0x040


def tx_request(machine):
    """Return the DMA request of a machine (0 to 7) that can take a word."""
    return machine // 4 * _REQUESTS_A_PIO + _REQUEST_TX + machine % 4


def rx_request(machine):
    """Return the DMA request of a machine (0 to 7) that has a word."""
    return machine // 4 * _REQUESTS_A_PIO + _REQUEST_RX + machine % 4


def start_all(pio):
    """Start a PIO's four machines in the same cycle."""
    mem32[pio + _CTRL] = 0xF


def stop_all(pio):
    """Stop a PIO's four machines."""
    mem32[pio + _CTRL + _CLEAR] = 0xF


def stalls(pio):
    """Return the address of what says which machines had to wait to push: a bit each, from 1 on."""
    return pio + _FDEBUG


def forget_stalls(pio):
    """Clear what ``stalls`` tells."""
    mem32[pio + _FDEBUG] = 0xF


def bypass_synchroniser(pin, bypass):
    """Take a pin's synchroniser out of PIO 0's way, or put it back."""
    mem32[PIO0 + _INPUT_SYNC_BYPASS + (_SET if bypass else _CLEAR)] = 1 << pin


def bypassed(pin):
    """Say whether a pin's synchroniser is out of PIO 0's way."""
    return mem32[PIO0 + _INPUT_SYNC_BYPASS] >> pin & 1


def stop_dma(channel):
    """Stop a channel, whatever it does, and give it back."""
    # disabled, and chained to itself, which is to nothing: what is aborted may otherwise start
    # again, or what it is chained to (RP2350-E5), which is channel 0 in a control word of 0
    channel.config(ctrl=channel.pack_ctrl(default=0, chain_to=channel.channel))
    channel.active(0)
    channel.close()


def transfer_count(channel):
    """Return the address of a channel's transfer count."""
    return _DMA + _DMA_CHANNEL_BYTES * channel.channel + _TRANSFER_COUNT


def read_and_start(channel):
    """Return the address that takes a channel's read address and starts it, unless that is 0."""
    return _DMA + _DMA_CHANNEL_BYTES * channel.channel + _READ_ADDRESS_TRIGGER


def pad_levels():
    """Return the address of all pads' levels: a bit each."""
    return _SIO + _GPIO_IN


def let_go():
    """Return the address that takes the pads whose outputs are to be switched off: a bit each."""
    return _SIO + _GPIO_OE_CLEAR


def end_watchdog():
    """Switch the watchdog off, for which MicroPython has no word."""
    mem32[_WATCHDOG + _CLEAR] = _WATCHDOG_ENABLE


def core_voltages():
    """Return the core's voltages that ``set_core_voltage`` knows, in mV: none on an RP2350."""
    return sorted(_VREG_LEVELS) if IS_RP2040 else []


def set_core_voltage(millivolts):
    """Set the core's voltage; says whether the regulator took it and is stable."""
    level = _VREG_LEVELS[millivolts]
    mem32[_VREG] = mem32[_VREG] & ~_VREG_SELECT & 0xFFFFFFFF | level
    for _ in range(1000):
        found = mem32[_VREG]
        if found & _VREG_SELECT == level and found & _VREG_STABLE:
            return True
    return False
