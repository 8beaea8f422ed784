# SPDX-License-Identifier: MIT OR Apache-2.0
"""A browser without a window, driven through pipes by Chromium's DevTools protocol: JSON with a NUL behind each."""
import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class BrowserError(Exception):
    pass


def find():
    return next(filter(None, map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome'))), None)


class Browser:
    """One page. Everything it logs and every request it makes is kept in .console and .requests."""

    def __init__(self, width=1280, height=900, dark=False):
        if not find():
            raise BrowserError('there is no Chromium: tools/setup test installs it')
        self.profile = tempfile.TemporaryDirectory(prefix='futrace-browser-')
        to_read, self.to = os.pipe()
        self.fro, fro_write = os.pipe()
        self.buffer, self.numbers = b'', itertools.count(1)
        self.forget()
        args = [find(), '--headless=new', '--remote-debugging-pipe', '--no-first-run', '--disable-gpu',
                '--disable-extensions', '--disable-background-networking', '--disable-component-update',
                '--disable-sync', '--mute-audio',
                '--hide-scrollbars', '--disable-dev-shm-usage', f'--user-data-dir={self.profile.name}',
                f'--window-size={width},{height}']
        if os.geteuid() == 0:
            args.append('--no-sandbox')

        def wire():  # the protocol speaks on 3 and 4; both ends may be one of these numbers already
            r, w = os.dup(to_read), os.dup(fro_write)
            r, w = os.dup2(r, 103), os.dup2(w, 104)
            os.dup2(r, 3)
            os.dup2(w, 4)
            os.closerange(5, 256)

        self.process = subprocess.Popen(args + ['about:blank'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=wire)
        os.close(to_read)
        os.close(fro_write)
        self.session = None
        page = next(t for t in self._call('Target.getTargets')['targetInfos'] if t['type'] == 'page')
        self.session = self._call('Target.attachToTarget', targetId=page['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self._call(domain + '.enable')
        self._call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}
        self._call('Emulation.setEmulatedMedia', features=[scheme])

    def close(self):
        try:
            self.session = None
            self._call('Browser.close')
        except (BrowserError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.fro)
        for _ in range(20):  # its children may still write there
            try:
                self.profile.cleanup()
                break
            except OSError:
                time.sleep(0.1)

    def _message(self, deadline):
        while b'\0' not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.fro], [], [], left)[0]:
                raise BrowserError('the browser does not answer')
            data = os.read(self.fro, 1 << 20)
            if not data:
                raise BrowserError('the browser went away')
            self.buffer += data
        text, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(text)

    def _note(self, message):
        method, params = message.get('method'), message.get('params', {})
        if method == 'Runtime.consoleAPICalled':
            self.console.append(' '.join(str(a.get('value', a.get('description'))) for a in params['args']))
        elif method == 'Runtime.exceptionThrown':
            self.console.append(params['exceptionDetails'].get('exception', {}).get('description', 'exception'))
        elif method == 'Log.entryAdded':
            self.console.append(params['entry']['text'])
        elif method == 'Network.requestWillBeSent':
            self.requests.append(params['request']['url'])

    def _call(self, method, timeout=60, **params):
        number = next(self.numbers)
        message = {'id': number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.to, json.dumps(message).encode() + b'\0')
        deadline = time.monotonic() + timeout
        while True:
            answer = self._message(deadline)
            if answer.get('id') == number:
                if 'error' in answer:
                    raise BrowserError(f'{method}: {answer["error"]["message"]}')
                return answer['result']
            self._note(answer)

    def forget(self):
        self.console, self.requests = [], []

    def open(self, path, timeout=60):
        """Opens a file and waits until the page says that it is ready. What was noted before is forgotten."""
        self._call('Page.navigate', url='about:blank')
        self.run('document.readyState')
        self.forget()
        self._call('Page.navigate', url='file://' + os.path.abspath(path))
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self.run('document.documentElement?.dataset.ready ?? ""'):
                self.run('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
                return
            time.sleep(0.05)
        raise BrowserError(f'{path} is not ready after {timeout} s: {self.console}')

    def run(self, script, timeout=60):
        """The value of an expression, or of the promise that it is."""
        answer = self._call('Runtime.evaluate', timeout, expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in answer:
            raise BrowserError(answer['exceptionDetails'].get('exception', {}).get('description', 'exception'))
        return answer['result'].get('value')

    def mouse(self, kind, x, y, **more):
        self._call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def click(self, x, y, **more):
        self.mouse('mouseMoved', x, y)
        for kind in ('mousePressed', 'mouseReleased'):
            self.mouse(kind, x, y, button='left', clickCount=1, **more)

    def drag(self, x0, y0, x1, y1, **more):
        self.mouse('mousePressed', x0, y0, button='left', clickCount=1, **more)
        for i in range(1, 5):
            self.mouse('mouseMoved', x0 + (x1 - x0) * i / 4, y0 + (y1 - y0) * i / 4, button='left', **more)
        self.mouse('mouseReleased', x1, y1, button='left', clickCount=1, **more)

    def key(self, key):
        self._call('Input.dispatchKeyEvent', type='keyDown', key=key, text=key if len(key) == 1 else '')
        self._call('Input.dispatchKeyEvent', type='keyUp', key=key)

    def screenshot(self, path, whole=False):
        """Of what is to be seen, or of the whole page."""
        size = self.run('({x: 0, y: 0, width: innerWidth, height: document.documentElement.scrollHeight})')
        more = {'captureBeyondViewport': True, 'clip': {**size, 'scale': 1}} if whole else {}
        data = self._call('Page.captureScreenshot', **more)['data']
        with open(path, 'wb') as f:
            f.write(base64.b64decode(data))
