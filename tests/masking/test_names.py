"""Names that mean a secret by themselves, and names that look like them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentd.masking import Masker
from common import secret_names as names

YES = """
password Password new_password2 passwordConfirmation user[password] pwd j_passwd passphrase passcode
token access_token accessToken refresh-token id_token csrfmiddlewaretoken __RequestVerificationToken X-CSRF-Token
secret client_secret clientSecret apikey api_key X-API-Key apiKey2 secret_access_key private_key
otp user_otp totp one_time_code verificationCode jwt bearer
card_number cardNumber cc-number ccnum card[cvc] cvv CVV2 csc cc-csc securityCode
PHPSESSID JSESSIONID session_id sid Authorization X-Amz-Credential X-Amz-Signature pw pass
""".split()

NO = """
user name email address amount postcode country_code discount_code code key keyboard api_key_id max_tokens tokens
token_type token_count nextPageToken page_token continuation_token passport passenger boarding_pass compass inside
side card_type number order_number pin author secretary bypass describe signature q x 2024 _ -
""".split()


@pytest.mark.parametrize("name", YES)
def test_a_secret(name: str) -> None:
    assert Masker().is_secret_name(name)


@pytest.mark.parametrize("name", NO)
def test_no_secret(name: str) -> None:
    assert not Masker().is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["pin", "PIN", "card_pin", "card[pin]", "user.taxId", "tax-id", "TAX_ID"]
)
def test_names_that_task_and_operator_add(name: str) -> None:
    assert Masker(["pin", "tax_id"]).is_secret_name(name)


@pytest.mark.parametrize("name", ["ping", "pinned", "tax", "id", "taxId_kind", ""])
def test_added_names_are_whole_words_at_the_end(name: str) -> None:
    assert not Masker(["pin", "tax_id", "", "--"]).is_secret_name(name)


def test_the_lists_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "network.md").read_text()
    table = page.partition("| a name is secret if | names |\n| --- | --- |\n")[2].partition("\n\n")[
        0
    ]
    rows = [row.split(" | ") for row in table.splitlines()]
    told = [tuple(row[1].strip(" |").split(", ")) for row in rows]
    assert told == [names.ANYWHERE, names.AT_THE_END, names.WHOLE_WORD, names.WHOLE_NAME, names.NOT]
