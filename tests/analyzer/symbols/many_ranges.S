/* Debug information that no compiler writes: 6,000 functions that share one list of 6,000 ranges. */
.text
.globl plateau_code_with_many_ranges
.type plateau_code_with_many_ranges, @function
plateau_code_with_many_ranges:
  xor %eax, %eax
  ret
.Lend:
.size plateau_code_with_many_ranges, .Lend - plateau_code_with_many_ranges

.section .debug_abbrev, "", @progbits
.uleb128 1
.uleb128 0x11 /* compile unit, with children */
.byte 1
.uleb128 0x11, 1 /* low pc, address */
.uleb128 0x12, 7 /* high pc, data8 */
.byte 0, 0
.uleb128 2
.uleb128 0x2e /* subprogram */
.byte 0
.uleb128 0x55, 0x17 /* ranges, section offset */
.byte 0, 0
.byte 0

.section .debug_info, "", @progbits
.long .Lunit_end - .Lunit
.Lunit:
.value 4
.long 0
.byte 8
.uleb128 1
.quad plateau_code_with_many_ranges
.quad .Lend - plateau_code_with_many_ranges
.rept 6000
.uleb128 2
.long 0
.endr
.byte 0
.Lunit_end:

.section .debug_ranges, "", @progbits
.rept 6000
.quad 1, 2
.endr
.quad 0, 0

.section .debug_aranges, "", @progbits
.long .Laranges_end - .Laranges
.Laranges:
.value 2
.long 0
.byte 8, 0
.long 0
.quad plateau_code_with_many_ranges
.quad .Lend - plateau_code_with_many_ranges
.quad 0, 0
.Laranges_end:

.section .note.GNU-stack, "", @progbits
