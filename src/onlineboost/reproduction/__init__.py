"""The experiment of Beygelzimer, Kale and Luo (2015), section 5: tuned by progressive error, tested on a fifth."""
