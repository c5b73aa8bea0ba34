"""C code of the plan on screen: asked of a worker, taken when it is there. No Panel here."""

from __future__ import annotations

import planners as sp
from app.jobs import ENDS
from app.one_job import OneJob


class Coding(OneJob):
    """One request at a time."""

    def start(self) -> None:
        """Have C code written of the plan on screen."""
        work = self.session.work
        if not work.shown or self._job:
            return
        try:
            plan = work.shown.text  # As planned: the plan on screen may have a shorter program.
        except sp.BadInput as error:
            work.notice = str(error)
            return
        self._job = self.session.pool.submit("code", plan=plan)
        work.param.update(coding=True, notice="")

    def poll(self) -> None:
        """Take code that is ready, or one line on why there is none."""
        work = self.session.work
        for message in self._job.drain() if self._job else ():
            if message["type"] == "code":
                work.code = {name: message[name] for name in ("name", "zip")}
            elif message["type"] in ("error", "died"):
                work.notice = message["text"]
            if message["type"] in ENDS:
                self._job = None
                work.coding = False
