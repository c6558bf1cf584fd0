//! Programs that must not compile: illegal orders of the pipeline's stages.

#[test]
fn illegal_stage_orders_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/legal_order.rs");
    cases.compile_fail("tests/ui/*_refused.rs");
}
