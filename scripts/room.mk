# SPDX-License-Identifier: MIT
# What a user types: demo, install, bundle, bench; and the checks of the project's own form.

FAST_TESTS += scripts/check-rooms
