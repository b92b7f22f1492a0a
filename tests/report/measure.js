(() => {
  const shown = e => e.checkVisibility() && e.getBoundingClientRect().width > 1;
  const told = (what, e) => `${what}: ${(e.textContent || e.tagName).trim().slice(0, 60)}`;
  const faults = [], room = document.documentElement.clientWidth;
  const rgb = text => (text.match(/[\d.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  for (const svg of document.querySelectorAll("svg.chart")) {
    if (!shown(svg)) continue;
    const card = svg.closest("section");
    if (card && svg.getBoundingClientRect().right > card.getBoundingClientRect().right) faults.push("drawing outside its card");
    const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const texts = [...svg.querySelectorAll("text")].map(e => [e, e.getBoundingClientRect()]);
    texts.forEach(([e, r], n) => {
      if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1) faults.push(told("label outside its drawing", e));
      if (parseFloat(getComputedStyle(e).fontSize) * scale < 10) faults.push(told("label too small", e));
      if (contrast(rgb(getComputedStyle(e).fill), behind(svg)) < 4.5) faults.push(told("label too pale", e));
      for (const [other, o] of texts.slice(n + 1)) {
        const wide = Math.min(r.right, o.right) - Math.max(r.left, o.left), high = Math.min(r.bottom, o.bottom) - Math.max(r.top, o.top);
        if (wide > 1 && high > 3) faults.push(told("labels on each other", e) + " / " + other.textContent);
      }
    });
    for (const e of svg.querySelectorAll(".line:not(.band), .bar, .dot, .ring, .axis")) {
      const style = getComputedStyle(e), colour = rgb(style.stroke === "none" ? style.fill : style.stroke);
      if (contrast(colour, behind(svg)) < 3) faults.push(`mark too pale: ${e.getAttribute("class")}`);
      const r = e.getBoundingClientRect();
      if (r.left < box.left - 1 || r.right > box.right + 1 || r.bottom > box.bottom + 1 || r.top < box.top - 1) faults.push(`mark outside its drawing: ${e.getAttribute("class")}`);
    }
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || e.closest("svg") || !shown(e)) continue;
    if (contrast(rgb(getComputedStyle(e).color), behind(e)) < 4.5) faults.push(told("text too pale", e));
    if (e.getBoundingClientRect().right > room + 1) faults.push(told("text beyond the screen", e));
    if (parseFloat(getComputedStyle(e).fontSize) < 11) faults.push(told("text too small", e));
    const card = e.closest("section, .summary, .loud, .aside, .cards li"), drawn = document.createRange();
    drawn.selectNodeContents(walker.currentNode);
    const r = drawn.getBoundingClientRect(), c = card && card.getBoundingClientRect();
    if (card && r.width > 1 && !e.closest(".scroll, .unseen, .stack thead") && (r.right > c.right + 1 || r.left < c.left - 1)) faults.push(told("text outside its card", e));
  }
  for (const e of document.querySelectorAll(".scroll")) if (shown(e) && e.scrollWidth > e.clientWidth + 1) faults.push(told("table wider than the screen", e));
  if (document.documentElement.scrollWidth > room) faults.push(`the page is ${document.documentElement.scrollWidth} wide on ${room}`);
  const levels = [...document.querySelectorAll("h1,h2,h3,h4")].map(e => +e.tagName[1]);
  if (levels.filter(x => x === 1).length !== 1 || levels[0] !== 1 || levels.some((x, n) => n && x > levels[n - 1] + 1)) faults.push(`headings out of order: ${levels}`);
  if (!document.documentElement.lang) faults.push("no language");
  for (const e of document.querySelectorAll("table")) if (!e.caption || [...e.querySelectorAll("th")].some(h => !h.scope)) faults.push(told("table without caption or scope", e));
  for (const e of document.querySelectorAll("svg")) if (!e.closest("[aria-hidden]") && (e.getAttribute("role") !== "img" || !e.querySelector("title") || !e.querySelector("desc"))) faults.push("drawing without alternative text");
  return [...new Set(faults)];
})()
