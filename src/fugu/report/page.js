(function () {
  var data = JSON.parse(document.getElementById("data").textContent);
  function draw(id, figure) { Plotly.react(id, figure.data, figure.layout, data.config); }
  function show(k) {
    var view = data.views[k];
    draw("laws", view.laws);
    draw("ratio", view.ratio);
    for (var id in view.captions) { document.getElementById(id).textContent = view.captions[id]; }
  }
  show(0);
  if (data.nearby) { draw("nearby", data.nearby); }
  if (data.heat) { draw("covariance", data.heat); }
  if (data.bars) { draw("methods", data.bars); }
  var choice = document.getElementById("pair");
  if (choice) { choice.addEventListener("change", function () { show(Number(choice.value)); }); }
})();
