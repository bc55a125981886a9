soak.o: tests/apps/soak.c include/old-glibc.h tests/apps/app.h \
  tests/softgpu/cudadrv.h

include/old-glibc.h:

tests/apps/app.h:

tests/softgpu/cudadrv.h:
