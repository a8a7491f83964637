// dlsym() as the program calls it. Asks the filter; if that declines, jumps to the real dlsym with registers, stack and
// return address exactly as the caller left them.
#if defined(__x86_64__)
        .text
        .globl  dlsym
        .type   dlsym, @function
        .p2align 4
dlsym:
        .cfi_startproc
        endbr64
        movq    (%rsp), %rdx
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    plateau_cuda_dlsym_filter
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        testq   %rax, %rax
        jne     1f
        movq    plateau_cuda_real_dlsym(%rip), %rax
        jmp     *%rax
1:      ret
        .cfi_endproc
        .size   dlsym, . - dlsym
#elif defined(__aarch64__)
        .text
        .globl  dlsym
        .type   dlsym, %function
        .p2align 4
dlsym:
        .cfi_startproc
        hint    #34                     // bti c
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        mov     x2, x30
        bl      plateau_cuda_dlsym_filter
        cbnz    x0, 1f
        ldp     x0, x1, [sp, #16]
        .cfi_remember_state
        ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        adrp    x16, plateau_cuda_real_dlsym
        ldr     x16, [x16, #:lo12:plateau_cuda_real_dlsym]
        br      x16
1:      .cfi_restore_state
        ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   dlsym, . - dlsym
#endif
        .section .note.GNU-stack, "", %progbits
