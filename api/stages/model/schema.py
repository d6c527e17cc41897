"""The features of a step by name, their direction and their meaning: what a model is trained on and
refused without."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple


class Feature(NamedTuple):
    """``sign``: +1 more can only be better, −1 only worse, 0 unknown: a constraint of training."""

    name: str
    sign: int
    about: str


def _table(text: str) -> tuple[Feature, ...]:
    rows = (line.split(None, 2) for line in text.strip().splitlines())
    return tuple(
        Feature(name, {"+": 1, "-": -1, "0": 0}[sign], about) for sign, name, about in rows
    )


FEATURES = _table("""
0 last              the episode ends with this step
0 index             steps before, log(1 + n)
0 clicks            clicks in the step, at most 3
0 fills             fields that changed in it, at most 3
0 typed             the harness says that text was typed or a key pressed
- nothing           nothing on screen, in fields or in addresses changed
- failed            requests or pages that failed, statuses from 400 on, and errors in words
0 added             lines and elements that came, log(1 + n)
0 removed           lines and elements that went, log(1 + n)
0 emptied           the share of the screen that went
0 goal_added        the share of the goal's rare words in what came
0 success_words     words of success in what came
- success_bare      the same, where none of the goal's words came with them
0 navigated         the tab went to another address
0 status            the worst HTTP status class of the step's documents and calls, 0 for none
0 dialog            a dialog opened
0 downloaded        a download began or ended
0 tabs              tabs opened
0 doubles           double clicks, at most 2
0 pasted            pastes, at most 2
- repeated          the same elements were acted on just before, with the same values
- revisited         the screen and the fields are as they were at an earlier step
- undone            boxes unchecked and texts emptied that were set before
0 click_goal        how well the clicked element agrees with the goal, 0 to 1
+ click_exact       it is a slot of the goal, or a phrase of three words and more
- click_regret      how much better another visible element of its kind agrees
0 click_submit      a button that ends something: its type or its name
- click_refusal     a name of refusal that the goal does not have
0 click_field       a field, a box, a radio or an option
0 click_bare        nothing that is meant to be clicked: no role of a control
- click_stray       clicked what is no control and is not in the goal
0 click_near        how near a rare word of the goal stands to it in the page's text
0 click_hint        the goal has a word of its class, or the name of its colour
0 click_order       its place among those of its kind is one of the goal's ordinals
- click_off         the goal has ordinals, and its place is none of them
0 click_around      of the goal's words that tell places of the page apart, the share around it
- click_missed      how many of them are not
0 drag_goal         how well the worst of what was dragged agrees with the goal
0 drag_onto         how well the worst of onto what it was dropped agrees
0 drag_place        a new place among its siblings is one of the goal's ordinals
0 fill_goal         how well the worst changed value agrees with the goal
0 fill_line         a changed value is a whole line of the page
0 fill_near         how near a rare word of the goal stands to a changed value in the page's text
+ paired            of fields with a value of the goal, the share whose name stands nearest to it
- crossed           how many of them have another field's name nearer
0 fields_placed     fields that hold something and stand where an ordinal of the goal says
- fields_off        and of those it speaks of, how many stand elsewhere
+ slots_gained      slots newly found in fields and clicks, as a share of all
- wrong_gained      values and boxes newly set that are not in the goal
0 slots             how many slots the goal has, log(1 + n)
+ recall            the share of slots found in fields or clicked so far
+ recall_fields     the share of slots that fields hold now
+ boxes_recall      of visible boxes that the goal names, the share that is checked; 1 for none
0 precision         mean agreement of the fields' values with the goal; 1 where there are none
- wrong_now         fields that hold what the goal has not, and boxes checked so
- boxes_wrong       boxes that are checked and that the goal does not name
- boxes_left        boxes that the goal names and that are not checked
- fields_left       visible text fields that are empty while a slot is missing
+ order             of neighbouring slots that were found, the share found in the goal's order
- strays            stray clicks so far
- others            clicks so far on controls that are neither in the goal nor end anything
0 matched           clicks so far that agree with the goal
0 submits           ends of something so far
- early             ends of something before every slot was found, so far
- nothings          steps so far without any effect
- errors            failures so far
- repeats           repetitions so far
0 unlike            clicks of one kind that agree less than the best of that kind so far
0 last_goal         how well the last click that was no ending agrees with the goal
- last_regret       its regret
0 last_around       its share of the words that tell one place from others
0 last_hint         the goal has a word of its class or colour
0 orders            clicks so far at a place that the goal's ordinals name
- offs              clicks so far at another one
0 drags             drags so far
0 reclicked         clicks so far on what was clicked before, with another click between
0 end_recall        recall, where something was ended in this step, else -1
0 end_precision     precision there, else -1
- end_wrong         wrong_now there
- end_left          what was left there: slots not found, boxes not checked
0 goal_text         the share of the goal's rare words on the screen
0 kinds             different things that the episode did so far: clicks, fills, keys, addresses
0 words_goal        rare words of the goal, log(1 + n)
0 asks_end          the goal itself names the ending (submit, search, send, ...)
0 click_kind        the goal names the clicked element's role, type or tag
0 in_view           share of slots on the page, beside the instruction, when the step began
- case_off          values that agree with the goal but for upper and lower case
0 asks_order        ordinals and superlatives in the goal: what can't be told by names
0 shown_new         the share of slots that are a line of the page now and were none at first
0 asks_work         words of what must be worked out: sums, sizes, colours, counts; at most 3
0 named             what the goal names: slots, and names of controls seen so far, log(1 + n)
+ done              of these the share that is clicked, checked or in a field now
- left              how many are not
- wrong             values, boxes and clicks that the goal does not name, but others of their kind
0 purity            done, as a share of done and wrong
0 asks_deed         deeds that the goal names: to drag, to paste
- unended           the goal names an ending (submit, search, send, ...) that was not clicked
+ final_done        done, if this is the last step, else 0
- final_left        left, if this is the last step
- final_wrong       wrong, if this is the last step
- final_unended     unended, if this is the last step
0 writes_now        forms, and requests that change something, sent in it, at most 3
0 writes            the same so far, log(1 + n)
0 write_status      the class of the status that answered the last of them, 0 before any
0 deeds_unsent      clicks and fills since then, at most 5; -1 while nothing was sent
0 steps_unsent      steps since then, log(1 + n); -1 while nothing was sent
+ sent_slots        the share of slots in what was sent last; -1 where that is not known
+ sent_words        the share of the goal's rare words in it
- sent_lost         how much more of them something had that was sent before
+ sent_in_value     of the slots that it has, the share that its best value has by itself
+ sent_in_record    the share that its best object has by itself
+ sent_paired       of its values that the goal has, the share whose name stands nearest to it there
- sent_crossed      how many of them have another value's name nearer, at most 3
- sent_off          values in it that were entered or counted and are not in the goal, at most 3
0 win_opened        windows opened in the step, at most 3
0 win_closed        windows closed in it, at most 3
0 win_dialogs       dialogs opened in it, at most 3
0 pressed           desktop buttons and menu items activated in it, at most 3
0 press_goal        how well the best of them agrees with the goal
0 press_ends        one of them ends something by its name
0 press_refusal     one of them refuses something that the goal does not
0 widgets_set       texts, values and states of widgets that changed in it, at most 3
0 file_events       files made, changed, moved and lost in it, log(1 + n)
0 files_lost        files deleted in it, at most 3
0 programs          programs started in it, at most 3
0 program_goal      how well the best name of them agrees with the goal
0 copied            changes of the clipboard in it, at most 3
0 notices           notifications in it, at most 3
0 answered          the agent answered in it
0 seen_change       the share of the screen that its picture shows changed; -1 without a picture
0 desk_quiet        nothing came on the desktop, to files or by tools
0 tool_calls        calls of tools in it, at most 3
- tool_failed       calls that failed in it, at most 3
0 tool_repeated     a call that was made before, with the same arguments
0 tool_goal         of the texts and names that the goal has, the share that calls had so far
0 tool_errors       failed calls so far
0 tool_repeats      repeated calls so far
0 presses           desktop buttons activated so far
0 refused           refusals among them
0 desk_reported     the log reports a desktop, files or tools
0 texts_wanted      texts that the goal has and that are no file's name, log(1 + n)
0 names_wanted      names of files and folders that it has, log(1 + n)
0 asks_delete       it asks to delete
0 asks_move         it asks to move or rename
0 asks_replace      it asks to replace
0 texts_kept        the share of its texts that touched files and changed probes hold now
0 texts_kept_lines  the share that is a whole line of these, with its upper and lower case
0 last_text_kept    they hold its last text
0 texts_shown       the share of its texts that widgets show now
0 texts_reported    the share that files, probes, the clipboard or the answer have now
0 texts_ever_shown  the share that widgets showed so far
0 names_there       the share of its names that files have now
0 names_touched     the share that files have which were made, changed or moved
0 first_there       a file has its first name; -1 where it has none
0 last_there        a file has its last name
0 last_touched      and was made, changed or moved
0 gone_named        files that were there at first, are not now, and that it names, at most 3
0 gone_off          and that it does not name
0 files_off         files made, changed or moved that it does not name, at most 3
0 files_empty       files made or changed that hold nothing now, at most 3
0 files_copied      files that hold now what another one held at first, at most 3
0 copies_named      the share of these that it names; -1 without any
0 originals_named   the share of these whose original it names; -1 without any
0 unsettled         files of unknown content at the close, at most 3
0 edits             widgets that hold another text than at first, at most 3
0 edit_worst        how well the worst text that came into them agrees with the goal; -1 without any
0 edit_whole        the share of them into which exactly a text of the goal came; -1 without any
- edit_off          those into which anything else came, at most 3
0 edit_lost         those from which a text went that the goal does not name, at most 3
0 file_edits        files that were read and hold another text than at first, at most 3
0 file_edit_worst   as edit_worst, of these
0 file_edit_whole   as edit_whole, of these
- file_edit_off     as edit_off, of these
0 file_edit_lost    as edit_lost, of these
0 edits_saved       the share of edited widgets whose text a file holds; -1 without any
0 windows           windows that are open now, log(1 + n)
0 dialogs_open      dialogs that are open now, at most 3
0 titles_marked     titles with the mark of what is not saved, at most 3
0 title_goal        the share of the goal's rare words in titles of windows
0 switched_goal     how well the best name of a switch that is not as it was agrees with the goal
0 switched_off      switches that are not as they were and that the goal does not name, at most 3
0 switched_back     switches that were changed and are as they were, at most 3
0 selected_goal     how well what was selected last agrees with the goal
0 value_goal        a slider or spin button was set to a number of the goal
- value_off         those set to another value, at most 3
0 probes_changed    probes that answer otherwise than at first, at most 3
- probes_back       probes that answered otherwise meanwhile and do as at first, at most 3
0 probe_goal        the share of the goal's rare words that came into answers of probes
0 clip_goal         the share of the goal's texts in the clipboard
0 clip_shown        a widget shows what is in the clipboard
0 screen_back       the screen's picture is as it was earlier, and was another one between
0 answer_shown      a widget shows the agent's answer, as a line; -1 without an answer
0 answer_goal       how well the answer agrees with the goal; -1 without an answer
+ desk_done         of the goal's texts and names the share that anything shows or holds now
+ desk_keeping      the share that files and probes hold
- desk_wrong        what came, went or is left that the goal does not ask for, at most 5
+ desk_purity       what is kept, as a share of it and of what is wrong
0 text_reported     the log reports text and elements
+ paid              what the rules paid in this step; missing where no rule scores
+ paid_so_far       what they paid up to here; missing where no rule scores
- fined             what they took up to here
""")
NAMES = tuple(feature.name for feature in FEATURES)
SIGNS = tuple(feature.sign for feature in FEATURES)
VERSION = "log_features/3"

_FILES = tuple(
    f"{name}.py"
    for name in (
        "schema",
        "words",
        "screen",
        "step",
        "goal_comparison",
        "looks",
        "target",
        "clicks",
        "effects",
        "slots",
        "progress",
        "requirements",
        "writes",
        "page_trees",
        "edits",
        "desk",
        "desk_step",
        "desk_features",
        "features",
        "trajectory_score",
    )
)


@lru_cache(maxsize=1)
def digest() -> str:
    """sha256 of the code that makes the features: another line of it is another digest, and old
    models are refused."""
    sources = [Path(__file__).with_name(name).read_bytes() for name in _FILES]
    return hashlib.sha256(b"\0".join([VERSION.encode(), *sources])).hexdigest()
