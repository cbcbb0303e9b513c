#include <stdio.h>

int main(void) {
    puts("1 2 3");
    return 0;
}
