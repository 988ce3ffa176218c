"""Tool calls and thinking that models write as text: one file a family."""
