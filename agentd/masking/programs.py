"""Programs that take a password in a short option, where no name tells of it: ``mysql -phunter2``.

The table is the documentation, as the lists of names are: options of other programs are masked by
their names alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class SecretOptions(NamedTuple):
    """``attached``: options whose value follows in the same word; ``separate``: in the next one.
    ``users``: options with a user and a password, attached or separate, and the sign between the
    two."""

    attached: tuple[str, ...] = ()
    separate: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    between: str = ":"


_MYSQL = SecretOptions(attached=("-p",))
_BOTH_P = SecretOptions(attached=("-p",), separate=("-p",))
_LDAP = SecretOptions(attached=("-w",), separate=("-w",))
_ZIP = SecretOptions(attached=("-P",), separate=("-P",))
_SAMBA = SecretOptions(users=("-U",), between="%")

PROGRAMS: Mapping[str, SecretOptions] = {
    **dict.fromkeys(
        ("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlcheck", "mysqlshow", "mysqlsh"),
        _MYSQL,
    ),
    **dict.fromkeys(
        ("mariadb", "mariadb-dump", "mariadb-admin", "mariadb-import", "mariadb-check"), _MYSQL
    ),
    **dict.fromkeys(("7z", "7za", "7zr", "rar", "unrar"), SecretOptions(attached=("-p",))),
    **dict.fromkeys(
        ("sshpass", "rdesktop", "mongo", "mongosh", "mongodump", "mongorestore"), _BOTH_P
    ),
    **dict.fromkeys(("ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami"), _LDAP),
    **dict.fromkeys(("zip", "unzip", "sqlcmd", "bcp"), _ZIP),
    **dict.fromkeys(("smbclient", "rpcclient", "smbget"), _SAMBA),
    "redis-cli": SecretOptions(separate=("-a",)),
    "curl": SecretOptions(users=("-u", "-U")),
    "lftp": SecretOptions(users=("-u",), between=","),
    "openssl": SecretOptions(separate=("-pass", "-passin", "-passout")),
    **dict.fromkeys(("xfreerdp", "xfreerdp3"), SecretOptions(attached=("/p:",))),
}
_SHELL = re.compile(r"[;|&()`/\\=$]")
_BUNDLED = re.compile(r"-[A-Za-z]{1,8}[uU]")
_ENDS = frozenset(("|", "||", "&", "&&", ";"))


def _program(word: str) -> str:
    """The program that a word of a shell's line names: `x=$(mysql`, `true;mysql.exe`."""
    return _SHELL.split(word.strip("'\""))[-1].removesuffix(".exe")


class Command:
    """Follows one command line, word by word; ``sign`` stands for a password."""

    def __init__(self, sign: str) -> None:
        self._sign = sign
        self._form = SecretOptions()
        self._next = ""

    def mask(self, word: str) -> str | None:
        """Return the word masked, or None where its program's options say nothing about it."""
        expected, self._next = self._next, ""
        if expected == "password":
            return self._sign
        if expected == "user":
            return self._mask_user(word)
        if word in _ENDS:
            self._form = SecretOptions()
            return None
        program = PROGRAMS.get(_program(word))
        if program is not None:
            self._form = program
            return None
        return self._mask_option(word)

    def _mask_option(self, word: str) -> str | None:
        """Note that a password or a user comes as the next word, or mask one that is attached.
        None: the word stays."""
        form = self._form
        if word in form.separate:
            self._next = "password"
            return None
        if word in form.users or (form.users and _BUNDLED.fullmatch(word)):
            self._next = "user"
            return None
        return self._mask_attached(word)

    def _mask_attached(self, word: str) -> str | None:
        """Mask the value of an option that stands in the same word."""
        for option in self._form.attached:
            if word.startswith(option) and word != option:
                return option + self._sign
        for option in self._form.users:
            if word.startswith(option):
                user = self._mask_user(word.removeprefix(option))
                if user is not None:
                    return option + user
        return None

    def _mask_user(self, word: str) -> str | None:
        """Mask the password behind a user's name; None where there is none."""
        user, mark, password = word.partition(self._form.between)
        return f"{user}{mark}{self._sign}" if password else None
