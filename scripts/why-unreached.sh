#!/bin/sh
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
#
# why-unreached.sh < OUTPUT: say in one line why apt-get, pip or npm, which said OUTPUT, could not
# download: fact, tab, next step. Exits with 1 where neither the network nor a full disk is the reason.
set -eu

said=$(cat)

has() { printf '%s\n' "$said" | grep -Eiq "$1"; }

# The first host that is named beside a failure; an address in brackets is that of a proxy or mirror.
host() {
    found=$(printf '%s\n' "$said" | sed -nE \
        -e "s/.*[Rr]esolv(e|ing)( host| proxy)? '([^']+)'.*/\3/p" \
        -e "s/.*[Cc]onnect(ion)? to ([^ :(]+)(:[^ ]*)?[ ,(].*/\2/p" \
        -e "s/.*\(?host='([^']+)'.*/\1/p" \
        -e "s/.*getaddrinfo (ENOTFOUND|EAI_AGAIN) ([^ ]+).*/\2/p" \
        -e "s/.*\[IP: ([^ ]+) [0-9]+\].*/\1/p" \
        -e "s/.*https?:\/\/([^/ :]+).*/\1/p" | head -n 1)
    printf '%s' "${found:-the server}"
}

no_route() {
    ! { awk 'FNR > 1 && $1 != "lo"' /proc/net/route; awk '$NF != "lo"' /proc/net/ipv6_route; } 2>/dev/null |
        grep -q .
}

tell() {
    printf '%s\t%s\n' "$1" "$2"
    exit 0
}

names="Temporary failure resolving|Could not resolve|Name or service not known|name resolution"
names="$names|NameResolutionError|getaddrinfo|EAI_AGAIN|ENOTFOUND"
ways="Network is unreachable|No route to host|ENETUNREACH|EHOSTUNREACH|ENETDOWN"
refusals="Connection refused|ECONNREFUSED"
silences="timed out|ETIMEDOUT|ESOCKETTIMEDOUT|Connection failed|ConnectTimeout|did not answer"

if has "No space left on device|Disk quota exceeded"; then
    tell "the disk is full" "free some room, then run this again"
elif has "$names|$ways|$silences" && no_route; then
    tell "there is no network on this machine" "connect it, then run this again"
elif has "407|Proxy Authentication|Tunnel connection failed|proxy.*(403|refuse)"; then
    tell "the proxy refuses ($(host))" "set http_proxy and https_proxy to one that lets you through"
elif has "$names"; then
    tell "the name $(host) cannot be resolved" "check the network and its DNS server (/etc/resolv.conf)"
elif has "$refusals"; then
    tell "$(host) refuses connections" "check its address and the proxy's, or try again later"
elif has "$ways"; then
    tell "there is no way to $(host)" "check the network's route and the proxy"
elif has "$silences"; then
    tell "$(host) does not answer" "try again later, or use another mirror"
elif has "404 +Not Found|E404|HTTP error 404|404 Client Error|does not have a Release file"; then
    tell "$(host) does not have what was asked for (404)" "update this checkout, or use another mirror"
fi
exit 1
