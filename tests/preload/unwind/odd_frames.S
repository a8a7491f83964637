/* Frames that compilers do not make: without unwind information, with wrong information, with information that needs
   other registers than the stack and the frame pointer, and a way to run on another stack. All take (function, argument). */
    .text

    .macro FUNCTION name
    .globl \name
    .hidden \name
    .type \name, %function
\name:
    .endm

#if defined(__x86_64__)
/* No CFI at all. */
FUNCTION CallWithoutCfi
    subq $24, %rsp
    movq %rdi, %rax
    movq %rsi, %rdi
    call *%rax
    addq $24, %rsp
    ret
    .size CallWithoutCfi, .-CallWithoutCfi

/* The CFA hangs on r13, which only a full register file knows. */
FUNCTION CallWithOddFrame
    .cfi_startproc
    pushq %r13
    .cfi_def_cfa_offset 16
    .cfi_offset %r13, -16
    movq %rsp, %r13
    .cfi_def_cfa_register %r13
    subq $48, %rsp
    movq %rdi, %rax
    movq %rsi, %rdi
    call *%rax
    movq %r13, %rsp
    .cfi_def_cfa_register %rsp
    popq %r13
    .cfi_def_cfa_offset 8
    .cfi_restore %r13
    ret
    .cfi_endproc
    .size CallWithOddFrame, .-CallWithOddFrame

/* An aligned stack whose CFA is kept in a slot: *(rsp + 40) + 8, as hand-written vector code has it. */
FUNCTION CallWithSavedCfa
    .cfi_startproc
    movq %rsp, %rax
    .cfi_def_cfa_register %rax
    subq $64, %rsp
    andq $-32, %rsp
    movq %rax, 40(%rsp)
    .cfi_escape 0x0f,0x05,0x77,0x28,0x06,0x23,0x08
    movq %rdi, %rax
    movq %rsi, %rdi
    call *%rax
    movq 40(%rsp), %rsp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size CallWithSavedCfa, .-CallWithSavedCfa

/* CallOnStack(function, argument, top): runs on another stack. Its frame is the root there: the rip is undefined. */
FUNCTION CallOnStack
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    movq %rdx, %rsp
    movq %rdi, %rax
    movq %rsi, %rdi
    .cfi_remember_state
    .cfi_undefined %rip
    call *%rax
    .cfi_restore_state
    movq %rbp, %rsp
    .cfi_def_cfa_register %rsp
    popq %rbp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size CallOnStack, .-CallOnStack

/* The same, with unwind information that claims 64 bytes above the top of that stack. */
FUNCTION CallOnStackWithWrongCfi
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    movq %rsp, %rbp
    movq %rdx, %rsp
    movq %rdi, %rax
    movq %rsi, %rdi
    .cfi_def_cfa %rsp, 64
    call *%rax
    .cfi_def_cfa %rbp, 16
    movq %rbp, %rsp
    popq %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size CallOnStackWithWrongCfi, .-CallOnStackWithWrongCfi

#elif defined(__aarch64__)
/* No CFI at all. */
FUNCTION CallWithoutCfi
    stp x29, x30, [sp, #-16]!
    mov x2, x0
    mov x0, x1
    blr x2
    ldp x29, x30, [sp], #16
    ret
    .size CallWithoutCfi, .-CallWithoutCfi

/* The CFA hangs on x19, which only a full register file knows. */
FUNCTION CallWithOddFrame
    .cfi_startproc
    stp x19, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x19, -16
    .cfi_offset x30, -8
    mov x19, sp
    .cfi_def_cfa_register x19
    sub sp, sp, #48
    mov x2, x0
    mov x0, x1
    blr x2
    mov sp, x19
    .cfi_def_cfa_register sp
    ldp x19, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x19
    .cfi_restore x30
    ret
    .cfi_endproc
    .size CallWithOddFrame, .-CallWithOddFrame

/* An aligned stack whose CFA is kept in a slot: *(sp + 40) + 8; x30 is below the CFA. */
FUNCTION CallWithSavedCfa
    .cfi_startproc
    str x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x30, -16
    add x3, sp, #8
    mov x4, sp
    sub x4, x4, #64
    and x4, x4, #-32
    str x3, [x4, #40]
    mov sp, x4
    .cfi_escape 0x0f,0x05,0x8f,0x28,0x06,0x23,0x08
    mov x2, x0
    mov x0, x1
    blr x2
    ldr x3, [sp, #40]
    sub x3, x3, #8
    mov sp, x3
    .cfi_def_cfa sp, 16
    ldr x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x30
    ret
    .cfi_endproc
    .size CallWithSavedCfa, .-CallWithSavedCfa

/* CallOnStack(function, argument, top): runs on another stack. Its frame is the root there: x30 is undefined. */
FUNCTION CallOnStack
    .cfi_startproc
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov sp, x2
    mov x2, x0
    mov x0, x1
    .cfi_remember_state
    .cfi_undefined x30
    blr x2
    .cfi_restore_state
    mov sp, x29
    .cfi_def_cfa_register sp
    ldp x29, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
    .size CallOnStack, .-CallOnStack

/* The same, with unwind information that claims 64 bytes above the top of that stack. */
FUNCTION CallOnStackWithWrongCfi
    .cfi_startproc
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x30, -8
    mov x29, sp
    mov sp, x2
    mov x2, x0
    mov x0, x1
    .cfi_def_cfa sp, 64
    blr x2
    .cfi_def_cfa x29, 16
    mov sp, x29
    ldp x29, x30, [sp], #16
    .cfi_def_cfa sp, 0
    .cfi_restore x30
    ret
    .cfi_endproc
    .size CallOnStackWithWrongCfi, .-CallOnStackWithWrongCfi

#endif

    .section .note.GNU-stack,"",%progbits
