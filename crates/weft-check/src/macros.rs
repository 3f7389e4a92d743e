//! The list of all tests.

/// Makes a test of every function in [`suite`](crate::suite), in modules of the same names. The argument is a function
/// that opens a device. It gets the test's name, and returns `None` if the test is to be skipped.
///
/// Where there are two kinds of a slow device, `first` and `second` say which of them this is: each ignores some of the slow
/// tests, and none is ignored by both. `.ci/run full` runs all.
#[macro_export]
macro_rules! device_tests {
    ($open:path) => {
        $crate::device_tests! { $open, [] [] }
    };
    ($open:path, first) => {
        $crate::device_tests! { $open, [#[ignore = "slow"]] [] }
    };
    ($open:path, second) => {
        $crate::device_tests! { $open, [] [#[ignore = "slow"]] }
    };
    ($open:path, [$($of_second:tt)*] [$($of_first:tt)*]) => {
        $crate::device_tests! { $open:
            attend {
                $($of_second)* latent_and_grouped,
                tokens_have_the_bits_that_they_have_alone,
                prompts_and_replies,
                prompts_in_whole_blocks,
                $($of_first)* every_layout,
                $($of_second)* many_heads_together,
                $($of_second)* windows_and_sinks,
                lists,
                a_list_of_all_positions_has_the_bits_of_no_list,
                wild_positions,
            }
            dot {
                $($of_second)* every_format,
                transposed,
                rows_have_the_bits_that_they_have_alone,
                every_layout,
                $($of_first)* gate_and_up_of_picked_matrices,
                $($of_first)* parts_of_a_stack_leave_other_rows_zero,
                $($of_first)* sums_over_experts_beside_a_product_and_a_residual,
                $($of_second)* a_router_beside_a_rotated_projection_over_a_norm,
                parts_of_weights_and_rows,
                wild_numbers,
            }
            indexer {
                exact_scores,
                any_scores,
                prompts_and_replies,
                pools,
                every_layout,
                candidates,
                wild_positions,
            }
            many {
                $($of_first)* of_one_matrix_or_one_per_head,
                $($of_first)* of_picked_matrices,
                $($of_first)* of_sums_over_experts,
                $($of_first)* of_uneven_shares,
            }
            promises {
                memory_is_zero_and_keeps_what_is_written_at_any_offset,
                what_does_not_exist_is_a_usage_error,
                weights_come_in_any_form_that_fits,
                what_is_too_large_is_refused_with_the_limit,
                a_rewound_device_has_forgotten,
            }
            random {
                $($of_first)* random_kernels,
            }
            rows {
                every_function_and_format,
                angles_of_any_size,
                rows_by_number,
                states_of_blocks,
                across_columns,
                views,
            }
            scan {
                sequences_side_by_side,
                any_steps_have_the_same_bits,
                company_changes_no_bit,
                any_rows_are_kept,
                guesses_change_no_bit,
                a_row_program_over_parts_of_rows,
            }
            shapes {
                products,
                products_with_experts,
                routers,
                rows,
                attention,
                lists_of_positions,
                indexers,
                candidates,
                #[ignore = "slow"] many_of_each,
            }
            top {
                the_largest_of_long_rows,
                every_block,
                of_computed_values_beside_others,
            }
        }
    };
    ($open:path: $($module:ident { $($(#[$ignored:meta])* $test:ident,)* })*) => {
        $(mod $module {
            $(#[test]
            $(#[$ignored])*
            fn $test() {
                if let Some(mut device) = $open(concat!(stringify!($module), "::", stringify!($test))) {
                    $crate::suite::$module::$test(&mut device);
                }
            })*
        })*
    };
}
