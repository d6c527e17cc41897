"""Command lines, headers and addresses as they may be told."""

from __future__ import annotations

import pytest

from agentd.masking import Masker


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["mysql", "--password", "geheim", "shop"], ["mysql", "--password", "***", "shop"]),
        (["mysql", "--password=geheim"], ["mysql", "--password=***"]),
        (["env", "API_KEY=k1", "HOME=/root", "run"], ["env", "API_KEY=***", "HOME=/root", "run"]),
        (["curl", "-u", "ada:geheim", "http://x/"], ["curl", "-u", "ada:***", "http://x/"]),
        (["curl", "https://ada:pw@x/?token=t&a=1"], ["curl", "https://x/?token=***&a=1"]),
        (["curl", "-H", "Authorization: Bearer t0k"], ["curl", "-H", "Authorization: Bearer ***"]),
        (["curl", "--header=Cookie: a=1; b=2"], ["curl", "--header=Cookie: a=***; b=***"]),
        (["x", "--proxy=http://u:p@h:1"], ["x", "--proxy=http://h:1"]),
        (["pay", "4111111111111111"], ["pay", "***"]),
        (["x", "--token", "--verbose"], ["x", "--token", "--verbose"]),
        (["x", "--max-tokens", "5", "-p", "22"], ["x", "--max-tokens", "5", "-p", "22"]),
        (["x", "--pin", "1234"], ["x", "--pin", "***"]),
        (["curl", "-d", "user=ada&password=geheim"], ["curl", "-d", "user=ada&password=***"]),
        (["curl", "-d", '{"password":"geheim"}'], ["curl", "-d", '{"password":"***"}']),
        (
            ["sh", "-c", "cd /x && mysql  --password geheim shop"],
            ["sh", "-c", "cd /x && mysql  --password *** shop"],
        ),
        (["sh", "-c", "A=1 PGPASSWORD=geheim psql"], ["sh", "-c", "A=1 PGPASSWORD=*** psql"]),
        (["sh", "-c", "curl -H 'X-Api-Key: k 1' x"], ["sh", "-c", "curl -H 'X-Api-Key: *** *** x"]),
        (
            ["sh", "-c", 'curl -H "Accept: a/b" https://u:p@x/'],
            ["sh", "-c", 'curl -H "Accept: a/b" https://x/'],
        ),
        (["python3", "-c", "print(1)\nx = 'a b'"], ["python3", "-c", "print(1)\nx = 'a b'"]),
        ([], []),
        (
            ["mysql", "-uroot", "-phunter2", "-P3306", "shop"],
            ["mysql", "-uroot", "-p***", "-P3306", "shop"],
        ),
        (["mysql", "-p", "shop"], ["mysql", "-p", "shop"]),
        (["/usr/bin/mysqldump", "-phunter2"], ["/usr/bin/mysqldump", "-p***"]),
        (["sudo", "mariadb-admin", "-phunter2"], ["sudo", "mariadb-admin", "-p***"]),
        (["sshpass", "-p", "hunter2", "ssh", "x"], ["sshpass", "-p", "***", "ssh", "x"]),
        (["sshpass", "-phunter2", "ssh", "x"], ["sshpass", "-p***", "ssh", "x"]),
        (["redis-cli", "-a", "hunter2", "get", "a"], ["redis-cli", "-a", "***", "get", "a"]),
        (["curl", "-uada:hunter2", "http://x/"], ["curl", "-uada:***", "http://x/"]),
        (["curl", "-u", "ada:hunter2", "http://x/"], ["curl", "-u", "ada:***", "http://x/"]),
        (["smbclient", "-U", "ada%hunter2", "//x/y"], ["smbclient", "-U", "ada%***", "//x/y"]),
        (["ldapsearch", "-w", "hunter2", "-x"], ["ldapsearch", "-w", "***", "-x"]),
        (["unzip", "-P", "hunter2", "a.zip"], ["unzip", "-P", "***", "a.zip"]),
        (["openssl", "rsa", "-passin", "pass:hunter2"], ["openssl", "rsa", "-passin", "***"]),
        (["cp", "-p", "a", "b"], ["cp", "-p", "a", "b"]),
        (["ssh", "-p", "22", "x"], ["ssh", "-p", "22", "x"]),
        (
            ["sh", "-c", "mysql -phunter2 shop | grep -pa"],
            ["sh", "-c", "mysql -p*** shop | grep -pa"],
        ),
        (["sh", "-c", "mysql -p'hun ter' shop"], ["sh", "-c", "mysql -p*** *** shop"]),
    ],
)
def test_arguments(arguments: list[str], told: list[str]) -> None:
    assert Masker(["pin"]).mask_arguments(arguments) == told


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("Authorization", "Bearer abc", "Bearer ***"),
        ("Authorization", "abc", "***"),
        ("Proxy-Authorization", "Basic YWRhOnB3", "Basic ***"),
        ("Cookie", "a=1; b=two=2", "a=***; b=***"),
        ("Set-Cookie", "sid=1; Path=/; HttpOnly\nlang=de", "sid=***; Path=/; HttpOnly\nlang=***"),
        ("X-Api-Key", "abc", "***"),
        ("X-Csrf-Token", "abc", "***"),
        ("Location", "/a?token=t&b=1", "/a?token=***&b=1"),
        ("Referer", "https://ada:pw@x/", "https://x/"),
        ("Content-Type", "application/json", "application/json"),
        ("WWW-Authenticate", 'Basic realm="shop"', 'Basic realm="shop"'),
        ("X-Card", "4111 1111 1111 1111", "***"),
    ],
)
def test_headers(name: str, value: str, told: str) -> None:
    assert Masker().mask_header(name, value) == told


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://shop.example/pay/4111111111111111/x", "https://shop.example/pay/***/x"),
        (
            "https://shop.example/?card=4111+1111+1111+1111&n=1",
            "https://shop.example/?card=***&n=1",
        ),
        (
            "https://shop.example/#access_token=abc&state=x",
            "https://shop.example/#access_token=***&state=x",
        ),
        ("https://shop.example/?4111111111111111", "https://shop.example/?***"),
        (
            "https://shop.example/a%20b/%C3%A4?c=%20d&e",
            "https://shop.example/a%20b/%C3%A4?c=%20d&e",
        ),
        ("/relative?otp=123456", "/relative?otp=***"),
    ],
)
def test_addresses(url: str, told: str) -> None:
    assert Masker().mask_url(url) == told
