/* Frames that compilers do not make: without unwind information, with wrong information, with information that needs
   other registers than rsp and rbp, and a way to run on another stack. All take (function, argument). */
    .text

    .macro FUNCTION name
    .globl \name
    .hidden \name
    .type \name, @function
\name:
    .endm

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
FUNCTION CallWithR13Frame
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
    .size CallWithR13Frame, .-CallWithR13Frame

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

    .section .note.GNU-stack,"",@progbits
