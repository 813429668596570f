/*
 * Calls under a timeout where one rank does not come. The first argument is what it does instead; the rank is 1. The others must get the
 * code, within the time, with a text that says who has arrived, who has not, and where that one is; another communicator must go on, and
 * every process must end by itself, without help.
 *
 *   sleeps           it comes later; elsewhere (second argument): no rank shares a board with another
 *   other-call       it makes another collective
 *   other-comm       it waits on another communicator
 *   hosts            the same, each rank with a host name of its own
 *   elsewhere-busy   the same, and it waits for something else on the same communicator
 *   finalizes        it ends everything in order, and must not wait for the others either
 *   silent           it does not send what rank 0 receives
 *   started          the others wait for a call that they have started
 *   wait-for         it comes late, and the others wait a while, and again; without a timeout, and (second argument) with one
 *   killed, killed-messages, stopped, shrink      deadlines_peers.h
 *   agreement        nobody is missing: values that differ, wrong values, children, time taken away, data that are right
 *   by-option        the same of call_timeout_ms
 */
#include "deadlines.h"
#include "deadlines_late.h"
#include "deadlines_peers.h"
#include "deadlines_well.h"

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "sleeps";
    if (!strcmp(what, "sleeps"))
        return sleeps(argc > 2);
    if (!strcmp(what, "hosts"))
        return hosts();
    if (!strcmp(what, "finalizes"))
        return finalizes();
    if (!strcmp(what, "other-call"))
        return other_call();
    if (!strcmp(what, "other-comm"))
        return other_comm();
    if (!strcmp(what, "elsewhere-busy"))
        return elsewhere_busy();
    if (!strcmp(what, "silent"))
        return silent();
    if (!strcmp(what, "wait-for"))
        return wait_for(argc > 2);
    if (!strcmp(what, "started"))
        return started();
    if (!strcmp(what, "killed"))
        return killed(0);
    if (!strcmp(what, "killed-messages"))
        return killed(1);
    if (!strcmp(what, "stopped"))
        return stopped();
    if (!strcmp(what, "shrink"))
        return shrink(argc > 2);
    if (!strcmp(what, "unable"))
        return unable();
    if (!strcmp(what, "agreement"))
        return agreement();
    if (!strcmp(what, "by-option"))
        return by_option();
    fprintf(stderr, "unknown case %s\n", what);
    return 2;
}
