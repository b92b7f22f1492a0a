"""For the tests of all three packages. The tests folder is importable; property tests have no deadline (speed is
measured in benchmarks only) and draw the same cases in every run of `make test`. `make hunt` draws new ones
(hunting.py)."""

from __future__ import annotations

import functools
import gc
import itertools
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer.main
import typer.testing
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent / "tests"))
settings.register_profile("fugu", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("fugu")
collect_ignore = [] if find_spec("psycopg") else [f"src/fugu/ledger/{name}.py" for name in ("connection", "database")]
if not all(map(find_spec, ("starlette", "uvicorn", "python_multipart"))):  # the extra studio
    collect_ignore += ["src/fugu/studio/app.py", "tests/studio"]
typer.main.get_command = typer.testing._get_command = functools.cache(typer.main.get_command)
"""Thousands of commands run in one process: their options are laid out once."""


@pytest.fixture(scope="session")
def ledgers(tmp_path_factory):
    """A folder for the ledgers of all tests, and their numbers: pytest's own numbering reads all folders each time."""
    return tmp_path_factory.mktemp("ledgers"), itertools.count()


@pytest.fixture(autouse=True)
def own_ledger(ledgers, monkeypatch):
    """Every test has a ledger of its own: none is ever charged to that of the person who runs them."""
    folder, numbers = ledgers
    own = folder / str(next(numbers))
    own.mkdir()
    monkeypatch.setenv("FUGU_LEDGER", str(own / "own.db"))


_LONG = (
    "docs/tour.md]",
    "docs/tutorials/command-line.md]",
    "docs/tutorials/property.md]",
    "docs/tutorials/training.md]",
    "test_hunting.py",
    "test_golden_record.py",
    "examples/",
    "README.md]",
    "docs/record-certificates.md]",
    "docs/scenario-files.md]",
    "test_chain_attack.py",
)
"""Tests of many seconds: they begin first, so that no process waits for one of them at the end."""

_AT_LENGTH = (
    "test_database_kills.py::test_twelve_hundred_requests",
    "test_browser.py::test_pages_hold_up_on_every_screen[coin]",
    "test_browser.py::test_pages_hold_up_on_every_screen[one number]",
    "test_real_columns_with_boxes_at_95_percent[adult/adult.data.csv.gz-,-age-income",
    "test_gaussian_hunt.py::test_no_mixture_pair_breaks_its_budget",
    "test_renyi_continuous.py::test_against_integrals[Gaussian-5]",
    "test_conversion.py::test_the_optimum_is_attained_by_a_pair_of_laws_and_less_is_false[orders12",
    "test_property_optimum.py::test_every_method_gives_the_same_noise_in_every_unit[False-(1000, 1, 1)]",
    "test_property_command.py::test_json_holds_everything_and_agrees_with_python",
    "test_browser.py::test_pages_hold_up_on_every_screen[several pairs]",
    "test_browser.py::test_pages_hold_up_on_every_screen[fitted]",
    "test_browser.py::test_pages_hold_up_on_every_screen[no noise]",
    "test_browser.py::test_pages_hold_up_on_every_screen[far apart]",
    "test_browser.py::test_pages_hold_up_on_every_screen[analysis]",
    "test_browser.py::test_pages_hold_up_on_every_screen[compare, Renyi]",
    "test_renyi_continuous.py::test_against_integrals[Gaussian-20]",
    "test_chain_numbers.py::test_slow_chains_of_seven_states_beat_the_group_bound",
    "test_chain_numbers.py::test_long_chains_that_never_settle_take_few_steps",
    "test_chain_start.py::test_coefficients_and_renyi_curves_cover_every_start",
    "test_gaussian.py::test_lattice_moments_are_those_of_fifty_digits[Gaussian(scale=Fraction(1001, 1000)",
    "test_fitting.py::test_the_certificate_says_whose_belief_it_is_and_shows_the_empirical_loss_beside_it[mixture]",
    "test_train.py::test_groups_and_chains_of_states_as_priors",
    "docs/errata/traps.md]",
    "docs/errata/pierquin.md]",
    "test_nearby_vectors.py::test_moved_vectors_never_lose_more[2]",
    "test_nearby_vectors.py::test_moved_vectors_never_lose_more[3]",
    "test_chen.py::test_the_short_form_runs[004-figure2]",
    "test_interval_doors.py::test_the_command_says_and_writes_the_same_whatever_an_interval_holds[dry run]",
    "docs/fields.md]",
    "docs/networks.md]",
    "docs/tables.md]",
    "test_oracle_hunt.py::test_loss_is_the_truth_from_above[many]",
    "test_real_columns_with_boxes_at_95_percent[adult/adult.data.csv.gz-,-age-race",
    "test_real_columns_with_boxes_at_95_percent[adult/adult.data.csv.gz-,-hours-sex",
    "test_errata_command.py::test_progress_is_told_for_every_entry",
    "test_release_attack.py::test_statistics_go_through_files[sum]",
    "test_release_attack.py::test_statistics_go_through_files[mean]",
    "test_release_attack.py::test_sequences_drawn_from_the_chain",
    "test_property_optimum.py::test_optimal_is_never_worse_than_another_method_nor_than_itself_under_a_weaker_floor",
    "test_second_agrees.py::test_both_proofs_agree[vectors]",
    "test_out_of_reach.py::test_hostile_numbers_are_proved_or_refused[far]",
    "test_renyi_numbers.py::test_commands_take_an_order",
    "test_confident_scenario.py::test_how_many_rows_would_suffice",
    "test_results.py::test_no_sound_printed_method_is_better_than_fugu",
    "test_ding.py::test_the_whole_paper_at_length",
    "test_bai_tables.py::test_synthetic_at_length",
    "test_bai_tables.py::test_tables_at_length",
    "test_the_code_of_a_document_runs_and_prints_what_it_says[README.md]",
    "examples/table.py]",
    "examples/contacts.py]",
    "runs_and_prints_what_it_says[docs/sequences.md]",
    "test_chain_forgets.py::test_a_given_start_of_many_states_loses_nothing",
    "test_property_command.py::test_a_column_of_two_values_hides_the_rarer_one",
    "test_property_command.py::test_statistics_may_be_one_text",
    "test_baselines.py::test_the_ordering_of_the_methods_on_an_eleven_state_chain",
    "test_gaussian_sums.py::test_draws_have_the_law_and_the_interval_holds",
    "test_asked_before.py::test_a_translation_is_a_function_of_prior_and_epsilon[9 values",
    "test_entry_budget.py::test_no_budget_for_each_entry_exceeds_what_was_asked[10]",
    "test_page.py::test_thirty_thousand_atoms_stay_small",
    "test_hunting.py::test_what_fails_dies_or_hangs_is_reported_with_the_command_that_repeats_it",
    "test_hunting.py::test_totals_add_up_over_runs_and_every_search_gets_its_turn",
    "test_ten_million_draws_see_one_per_cent",
    "test_spark_executors.py::test_an_executor_that_is_lost",
    "test_smooth.py::test_page_is_whole[normals, Gaussian]",
    "test_smooth.py::test_page_is_whole[normal against atoms, Gaussian]",
    "test_smooth.py::test_page_is_whole[mixtures, Gaussian]",
    "test_every_shape.py::test_beaten_methods_never_beat_the_one_that_beats_them",
    "test_out_of_reach.py::test_hostile_numbers_are_proved_or_refused[normal, thin]",
    "test_out_of_reach.py::test_hostile_numbers_are_proved_or_refused[normal, far]",
    "test_documents.py::test_parts_of_another_document_do_not_fit",
    "test_property_command.py::test_one_statistic_is_enough",
    "test_property_page.py::test_one_statistic_has_its_own_methods",
    "test_custom.py::test_a_skewed_noise_counts_both_signs",
    "test_chen.py::test_all_of_it_comes_out",
    "test_conversion.py::test_no_random_pair_leaks_more_than_the_conversion_says",
    "test_tapes.py::test_digits_cut_and_widths_never_change_the_law",
    "test_errata_command.py::test_all_are_run",
    "test_oracle_hunt.py::test_loss_is_the_truth_from_above[remote]",
    "test_chain_start.py::test_a_patient_who_may_die_is_protected_while_alive",
    "test_property_shares.py::test_every_two_shares_within_the_tolerance_are_hidden_and_one_",
    "test_training_privacy_attack.py::test_the_loop_of_the_estimators_itself",
    "test_metric_large.py::test_three_hundred_states_against_a_program_over_all_pairs",
    "test_metric_large.py::test_thirteen_thousand_states",
    "test_metric_large.py::test_the_largest_rate_on_many_states",
    "examples/training.py]",
    "examples/sequences.py]",
    "test_a_release_is_written_back_and_asked_again",
    "test_out_of_reach.py::test_money_in_cents_needs_little_memory",
    "test_the_whole_sampler_decides_no_integer_on_more_than_its_mass[two digits]",
    "test_release_attack.py::test_histograms_go_through_files",
    "test_real_metric.py",
    "test_out_of_reach.py::test_hostile_numbers_are_proved_or_refused[vectors]",
    "test_out_of_reach.py::test_hostile_numbers_are_proved_or_refused[cents]",
    "test_out_of_reach.py::test_comparisons_of_hostile_numbers_have_a_row_for_every_method",
    "test_out_of_reach.py::test_a_coarser_lattice_is_said_proved_and_drawn",
    "test_kinds.py::test_what_is_not_in_the_document_is_not_checked_and_does_not_hold",
    "test_one_row_of_a_file_moves_nothing_but_its_own_gradient[reference, labels]",
    "test_one_row_of_a_file_moves_nothing_but_its_own_gradient[reference]",
    "test_one_row_of_a_file_moves_nothing_but_its_own_gradient[no header]",
    "test_one_row_of_a_file_moves_nothing_but_its_own_gradient[max-norm]",
    "test_one_row_of_a_file_moves_nothing_but_its_own_gradient[svc]",
    "test_one_row_of_a_file_moves_nothing_but_its_own_gradient[linear]",
    "test_property_command.py::test_the_tables_say_the_same",
    "test_property_command.py::test_declared_exact_warns_of_statistics_on_a_lattice",
    "test_selection.py::test_one_shot_gumbel_noise_has_the_law_of_the_peeled_exponential_mechanism",
    "test_selection.py::test_peeling_draws_fresh_noise_each_round",
    "test_property_page.py::test_lines_are_what_compare_and_calibrate_say",
    "test_errata_from_definitions.py::test_theorem_9_fails",
    "test_smooth.py::test_methods_carry_the_names_of_their_noises",
    "test_trade.py::test_the_page_names_every_method_and_why_it_is_refused[normal]",
    "test_gaussian_hunt.py::test_no_gaussian_pair_breaks_its_budget_and_a_scale_two_percent_smaller_is_caught[10]",
    "test_every_shape.py::test_what_is_calibrated_is_proved_again_by_every_way_to_ask[smooth-Renyi",
    "test_real_data.py::test_swapped_census_records",
    "test_real_data.py::test_census_education_given_race_as_mixtures",
    "test_errata_registry.py::test_the_order_does_not_depend_on_what_was_imported_first",
    "runs_and_prints_what_it_says[docs/scenario-files.md]",
    "runs_and_prints_what_it_says[docs/record-certificates.md]",
    "runs_and_prints_what_it_says[docs/sequence-queries.md]",
    "runs_and_prints_what_it_says[docs/tour.md]",
    "runs_and_prints_what_it_says[docs/tutorials/beliefs.md]",
    "runs_and_prints_what_it_says[docs/tutorials/column.md]",
    "runs_and_prints_what_it_says[docs/tutorials/command-line.md]",
    "runs_and_prints_what_it_says[docs/tutorials/officer.md]",
    "runs_and_prints_what_it_says[docs/tutorials/property.md]",
    "runs_and_prints_what_it_says[docs/tutorials/renyi.md]",
    "runs_and_prints_what_it_says[docs/tutorials/researcher.md]",
    "runs_and_prints_what_it_says[docs/tutorials/sequences.md]",
    "runs_and_prints_what_it_says[docs/tutorials/statistics.md]",
    "runs_and_prints_what_it_says[docs/tutorials/training-accounting.md]",
    "runs_and_prints_what_it_says[docs/tutorials/training.md]",
    "test_errata_registry.py::test_a_counterexample_refutes_what_is_printed_and_the_correction_stands[trap-stationary",
    "test_smooth.py::test_page_is_whole[coin]",
    "test_property_calibrate.py::test_certificates_verify_and_the_true_loss_is_within_the_budget[2-2-False",
    "test_second_agrees.py::test_both_proofs_agree[smooth]",
    "test_pierquin.py::test_every_pair_at_length",
    "test_nearby_vectors.py::test_moved_vectors_never_lose_more[0]",  # [1] stays
    "test_real_property.py::test_what_one_exchanged_record_shows[income",  # the other class stays, as below
    "test_real_property.py::test_a_scale_for_every_statistic_has_a_smaller_sum[workclass",
    "test_vector_mechanism.py::test_laws_that_meet_the_budget_alone_need_no_noise[budget1]",  # two budgets stay
    "test_session_prices.py::test_two_numbers_of_one_table_are_priced_in_whatever_order[sum",
    "test_one_row.py::test_one_row_of_a_file_or_of_parts[in_parts-parquet-out.csv-size]",  # its value stays
    "test_one_row.py::test_one_row_of_a_file_or_of_parts[in_parts-csv-out.parquet-size]",
    "test_blocks.py::test_no_sum_over_blocks_is_below_the_sum_over_outputs[20]",  # seeds beside it stay
    "test_composed.py::test_no_composition_is_below_the_truth[50]",
    "test_one_row.py::test_one_row_of_a_file_or_of_parts[in_parts-parquet-out.parquet-size]",
    "test_batches.py::test_a_release_in_batches_that_is_killed_is_finished_by_the_next[o.parquet]",
    "test_warnings.py::test_every_route_says_so_on_the_screen_and_in_json[a property, rehearsed]",
    "test_chen.py::test_the_short_form_runs[004-table3]",
    "test_browser.py::test_every_other_page_of_a_command_keeps_everything_in_its_cards[tolerance]",
    "test_fit.py::test_every_planted_fault_of_every_kind",
    "test_fit.py::test_faults_of_what_is_drawn_one_by_one",
    "test_chen.py::test_expected_value_laplace_noise_is_not_enough",
    "test_own_data.py::test_every_experiment_runs_on_what_it_takes[004-figure2-table]",
    "test_own_data.py::test_a_table_and_its_frequencies_by_hand_are_one[001-figure3]",  # [001-figure4] stays
    "test_counted.py::test_what_an_engine_counts_is_what_its_rows_say[45]",  # 0, 15 and 30 stay
    "test_counted.py::test_what_an_engine_counts_is_what_its_rows_say[60]",
    "test_counted.py::test_what_an_engine_counts_is_what_its_rows_say[75]",
    "test_counted.py::test_what_an_engine_counts_is_what_its_rows_say[90]",
    "test_counted.py::test_what_an_engine_counts_is_what_its_rows_say[105]",
    "test_counted.py::test_what_an_engine_counts_is_what_its_rows_say[120]",
    "test_counted.py::test_what_an_engine_counts_is_what_its_rows_say[135]",
    "test_composed.py::test_no_composition_is_below_the_truth[20]",  # 0, 10 and 30 stay
    "test_composed.py::test_no_composition_is_below_the_truth[40]",
    "test_ledger_interrupts.py::test_an_interrupt_anywhere_leaves_the_books_right[a check]",  # what writes stays
    "test_ledger_interrupts.py::test_an_interrupt_anywhere_leaves_the_books_right[a look]",
    "test_people.py::test_nobody_is_charged_more_than_the_budget_and_nothing_is_refused_without_need[10]",
    "test_people.py::test_nobody_is_charged_more_than_the_budget_and_nothing_is_refused_without_need[20]",
    "test_publish_kills.py::test_the_same_command_finishes_what_was_killed[many]",  # the other kinds stay
    "test_publish_kills.py::test_the_same_command_finishes_what_was_killed[groups]",
    "test_session_prices.py::test_the_noise_found_is_the_least_that_the_definition_allows[10]",  # 0 and 20 stay
    "test_blocks.py::test_no_plan_with_levels_is_below_the_sum_over_outputs[30]",
    "test_property_optimum.py::test_every_method_gives_the_same_noise_in_every_unit[False-(1, 0.001, 1)]",
    "test_chain_forgets.py::test_one_step_with_any_start_is_the_most_of_all_laws[20]",  # 0 and 10 stay
    "test_chain_forgets.py::test_one_step_with_any_start_is_the_most_of_all_laws[30]",
    "test_limits.py::test_a_packed_cell_of_300_mb_is_refused_cheaply[]",  # one shape stays
    "test_limits.py::test_a_packed_cell_of_300_mb_is_refused_cheaply[x,y",
    "test_one_mechanism.py::test_one_release_however_it_is_copied_threaded_forked_or_stored[gaussian vectors]",
    "test_vector_hunt.py::test_translates_of_an_unknown_law[budget2-gap4]",  # other budgets and gaps stay
    "test_session_cap.py::test_no_transcript_breaks_either_promise[0]",  # [10] stays
)
"""What others show in a short form, at length: run by `make test-long` only, so that `make test` ends in time."""


def pytest_collection_finish():
    """What was imported and collected stays until the end: no search for garbage looks at it again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    """The end of the process may look at everything, and complains of what it may not (duckdb)."""
    gc.unfreeze()


def pytest_collection_modifyitems(config, items):
    """Long tests first; otherwise in order, so that fixtures of a module are made once."""
    at_length, long = (re.compile("|".join(map(re.escape, parts))).search for parts in (_AT_LENGTH, _LONG))
    if not os.environ.get("FUGU_AT_LENGTH") and not any("::" in arg for arg in config.args):
        for item in items:
            if at_length(item.nodeid):
                item.add_marker(pytest.mark.skip(reason="at length: make test-long"))
    items.sort(key=lambda item: long(item.nodeid) is None)
