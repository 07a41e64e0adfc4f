"""A class's hand-ins: unpacked, judged, compared, marked; the tables that platforms import."""
