/* After rows.inc: forget the includer's six macros. No include guard: it follows every inclusion. */
#undef COLLECTIVE
#undef VARIED
#undef EXCHANGE
#undef MESSAGE
#undef PAIR
#undef PROBE
