// The bundled page of the HTML report, as bytes between two symbols.
    .section .rodata.plateau_report_page, "a"
    .global plateau_report_page_begin
    .global plateau_report_page_end
plateau_report_page_begin:
    .incbin PLATEAU_REPORT_PAGE_FILE
plateau_report_page_end:
    .section .note.GNU-stack, "", @progbits
