"""Pure decisions: functions of values and time. No I/O, no state kept between calls."""
