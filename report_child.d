report_child.o: live/read/report_child.c include/old-glibc.h \
  live/read/report_child.h

include/old-glibc.h:

live/read/report_child.h:
