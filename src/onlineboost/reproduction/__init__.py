"""The experiment of Beygelzimer, Kale and Luo (2015), section 5: tuning by progressive error, a test on one fifth."""
