import sys
print(sys.version)
import gpiozero, gpiozero.pins.lgpio as l, gpiozero.pins.local as lo
print(l.__file__)
import inspect
