# shellcheck shell=bash
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
#
# Sourced by each script: go to the checkout, whatever the user's shell changes in cd, grep, tar and git.
unset CDPATH BASH_ENV POSIXLY_CORRECT GREP_OPTIONS TAR_OPTIONS GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
unset -f cd
[[ ${XDG_CACHE_HOME:-/} == /* ]] || unset XDG_CACHE_HOME
[[ ${TENNIS_CACHE:-} != \~/* ]] || TENNIS_CACHE=$HOME/${TENNIS_CACHE:2}
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
