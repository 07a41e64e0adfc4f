// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where pings were taken and answered, and which processors they found at work: counted for each of
 * several processors, whatever instrument plays.
 */
#include "places.h"

#include "machine.h"
#include "processors.h"

static struct place places[CPUS_MAX];

void places_served(void)
{
	for (int i = 0; i < processors_count(); i++)
		places[i].busy += processors_is_busy(i);
}

void places_rose(void)
{
	int where = machine_answers();

	if (where >= 0)
		places[where].pings++;
}

void places_fell(void)
{
	int where = machine_answers();

	if (where >= 0)
		places[where].replies++;
}

const struct place *places_told(size_t *size)
{
	int count = processors_count();

	*size = count > 1 ? count * sizeof(places[0]) : 0;
	return places;
}
