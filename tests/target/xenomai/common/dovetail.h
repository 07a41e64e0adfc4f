/*
 * What the Racquets use of Dovetail, declared and no more, so that a compiler can check their calls
 * where no such kernel is. The values are made up: nothing that was compiled with this may run.
 */
#ifndef TENNIS_DOVETAIL_H
#define TENNIS_DOVETAIL_H

#define IRQF_OOB 0x40000000
#define IRQCHIP_PIPELINE_SAFE (1 << 30)

#endif /* TENNIS_DOVETAIL_H */
